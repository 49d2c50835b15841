-- Take the lock, or a place in its queue.
-- KEYS  lock, line, tickets, expiries, bars, counter, index
-- ARGV  owner, not after (µs), seen (a fence), ttl (ms), queue (1: wait if it is held), and what others may know:
--       channel, who, purpose; a line each
-- gives now (µs) and: granted, fence
--                   | queued, position, ask again (ms), ttl left (ms), holder
--                   | busy, waiters, ttl left (ms), holder
--                   | refused
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lock, line, tickets, expiries, bars, counter, index = unpack(KEYS)
local owner, seen, ttl = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local may_land = now <= tonumber(ARGV[2])

if may_land and redis.call('EXISTS', lock, line, bars) == 0 then -- by far the most common
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
-- include common

look()
local value = holder()
if not may_land or tonumber(redis.call('ZSCORE', bars, owner) or '0') >= now then
  if not value then
    serve()
  end
  return {now, REFUSED}
end
local shortest
if is_of(value, owner) then
  prolong(ttl)
else
  if not value or ARGV[5] == '1' then
    shortest = join(owner, ttl, table.concat({ARGV[4], ARGV[3], text(now), ARGV[6]}, '\n'))
  end
  if not value then
    serve(owner)
    value = holder()
  end
end
if not value then
  return {now, REFUSED}
end
if is_of(value, owner) then
  return {now, GRANTED, fence_of(value)}
end
local position, left = redis.call('ZRANK', line, owner), redis.call('PTTL', lock)
if ARGV[5] ~= '1' or not position then
  forget(owner)
  return {now, BUSY, redis.call('ZCARD', line), left, shown(value)}
end
return {now, QUEUED, position, ask_again(value, position, left, shortest), left, shown(value)}
