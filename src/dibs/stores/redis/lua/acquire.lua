-- Take a lock that one alone may have, or a place in its queue.
-- KEYS  lock, line, tickets, expiries, bars, holders, leases, counter, index
-- ARGV  owner, not after (µs), seen (a fence), ttl (ms), queue (1: wait if it is held), and what others may know:
--       channel, who, purpose; a line each
-- gives now (µs) and: granted, fence
--                   | queued, position, ask again (ms), holder
--                   | busy, waiters, holder
--                   | refused
--       where a holder is {ttl left (ms), what others may know of it; and if it may share the lock: room, depth}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lock, line, tickets, expiries, bars, holders, leases, counter, index = unpack(KEYS)
local owner, seen, ttl = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])

if now <= tonumber(ARGV[2]) and redis.call('EXISTS', lock, line, bars) == 0 then -- by far the most common
  local fence, since = now, string.format('%s%06d', time[1], time[2])
  local number = since
  local last = tonumber(redis.call('SET', counter, number, 'GET') or '0')
  if last >= now or seen >= now then -- its clock was set back
    fence = math.max(last, seen) + 1
    number = string.format('%.0f', fence)
    redis.call('SET', counter, number)
  end
  redis.call('SET', lock, owner .. '\n1\n' .. number .. '\n' .. ARGV[4] .. '\n' .. since .. '\n' .. ARGV[6], 'PX', ARGV[4])
  redis.call('ZADD', index, string.format('%.0f', now + ttl * 1000), lock)
  return {now, 1, fence}
end
-- include layout
-- include queue
-- include waiting

drop()
local held = redis.call('MGET', lock)[1]
local is_barred = now > tonumber(ARGV[2]) or tonumber(redis.call('ZSCORE', bars, owner) or '0') >= now
if held and not is_barred and not is_of(held, owner) then -- by far the most common of what is left
  local wish = table.concat({ARGV[4], ARGV[3], text(now), '1', '0', ARGV[6]}, '\n')
  local shortest, left = ARGV[5] == '1' and join(owner, ttl, wish), redis.call('PTTL', lock)
  return {now, unpack(placed(owner, ARGV[5], shortest, left, {left, shown(held)}))}
end
-- include ask

return {now, unpack(ask(owner, ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], '1', '0'))}
