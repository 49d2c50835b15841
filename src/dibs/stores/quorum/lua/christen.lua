-- Tell a server that has forgotten all for how long it is not to count, and from which fence.
-- KEYS  counter, born, fresh (since when, in µs, it is known that it has)
-- ARGV  counter, how long (ms) it is to be silent, the longest ttl (ms) there is, and if the counter was read when that
--       time was over: since when (µs) it was known then that it has forgotten all; else 0
-- gives now (µs), and how long (ms) it still does not count
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local counter, born, fresh = unpack(KEYS)
if redis.call('EXISTS', born) == 1 then
  return {now, 0}
end
redis.call('SET', fresh, string.format('%.0f', now), 'NX')
local left = math.ceil((redis.call('GET', fresh) - now) / 1000 + ARGV[2])
if left > 0 or redis.call('GET', fresh) ~= ARGV[4] then
  return {now, math.max(left, 0)}
end
if tonumber(redis.call('GET', counter) or '0') < tonumber(ARGV[1]) then
  redis.call('SET', counter, ARGV[1])
end
redis.call('SET', born, ARGV[3])
redis.call('DEL', fresh)
return {now, 0}
