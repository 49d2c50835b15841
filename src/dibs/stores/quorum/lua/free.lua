-- Take a part of a lock that is free, under the fence that all servers are asked to give: by far the most common. If
-- anything is in the way of that, what follows sees to it. Set before: nothing. KEYS and ARGV are those of acquire.lua,
-- but the last of KEYS is as in born.lua; and instead of a fence that was seen, there is the one that is to be given.
local lock, line, tickets, expiries, bars, holders, leases, counter, index, born = unpack(KEYS)
local fence, ttl = tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local longest, last = unpack(redis.call('MGET', born, counter))

if not longest then
  return {now, 11}
end
if tonumber(longest) < ttl then
  redis.call('SET', born, ARGV[4])
end
local is_to_be_had = fence >= now and fence > tonumber(last or '0') and now <= tonumber(ARGV[2])
if is_to_be_had and redis.call('EXISTS', lock, line, bars) == 0 then
  local since = string.format('%.0f', now)
  redis.call('SET', counter, ARGV[3])
  redis.call('SET', lock, ARGV[1] .. '\n1\n' .. ARGV[3] .. '\n' .. ARGV[4] .. '\n' .. since .. '\n' .. ARGV[6], 'PX', ARGV[4])
  redis.call('ZADD', index, now + ttl * 1000, lock)
  return {now, 1, fence}
end
table.remove(KEYS)
ARGV[3] = string.format('%.0f', fence - 1)
