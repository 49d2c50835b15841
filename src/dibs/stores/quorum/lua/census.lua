-- What a server says of itself.
-- KEYS  counter, born, fresh
-- gives now (µs), counter, the longest ttl (ms) that it knows of; and if it has forgotten all: for how long (ms) that has
--       been known, and since when (µs)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local last, longest = tonumber(redis.call('GET', KEYS[1]) or '0'), redis.call('GET', KEYS[2])
if longest then
  return {now, last, tonumber(longest)}
end
redis.call('SET', KEYS[3], string.format('%.0f', now), 'NX')
local since = tonumber(redis.call('GET', KEYS[3]))
return {now, last, 0, math.max(math.floor((now - since) / 1000), 0), since}
