-- Enter a lock that others may share, or that its owner may enter again; or take a place in its queue.
-- KEYS  lock, line, tickets, expiries, bars, holders, leases, counter, index
-- ARGV  as acquire.lua, then room (how many may be inside together), depth (how often the owner has entered)
-- gives as acquire.lua
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lock, line, tickets, expiries, bars, holders, leases, counter, index = unpack(KEYS)
local owner, seen, ttl, room = ARGV[1], tonumber(ARGV[3]), ARGV[4], ARGV[7]

if now <= tonumber(ARGV[2]) and redis.call('EXISTS', lock, line, bars, holders, leases) == 0 then -- by far the most common
  local fence, since = now, string.format('%s%06d', time[1], time[2])
  local number, ends = since, string.format('%.0f', now + ttl * 1000)
  local last = tonumber(redis.call('SET', counter, number, 'GET') or '0')
  if last >= now or seen >= now then -- its clock was set back
    fence = math.max(last, seen) + 1
    number = string.format('%.0f', fence)
    redis.call('SET', counter, number)
  end
  redis.call('HSET', lock, owner, ARGV[8])
  redis.call('HSET', holders, owner, room .. '\n1\n' .. number .. '\n' .. ttl .. '\n' .. since .. '\n' .. ARGV[6], '', room)
  redis.call('ZADD', leases, ends, owner)
  redis.call('PEXPIRE', lock, ttl)
  redis.call('PEXPIRE', holders, ttl)
  redis.call('PEXPIRE', leases, ttl)
  redis.call('ZADD', index, ends, lock)
  return {now, 1, fence}
end
-- include layout
-- include queue
-- include waiting
-- include ask

return {now, unpack(ask(unpack(ARGV)))}
