-- A server that has forgotten all has no vote. Set before: nothing. The last of KEYS is its sign that it remembers:
-- the longest ttl (ms) that was ever asked for.
local born = table.remove(KEYS)
local longest = redis.call('GET', born)
if not longest then
  local time = redis.call('TIME')
  return {time[1] * 1000000 + time[2], 11}
end
if ARGV[4] and tonumber(longest) < tonumber(ARGV[4]) then
  redis.call('SET', born, ARGV[4])
end
