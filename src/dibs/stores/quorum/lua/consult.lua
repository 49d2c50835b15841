-- Look at a sheet that a majority sets.
-- KEYS  registers
-- ARGV  name
-- gives now (µs) and: bare (it has forgotten) | kept, era, accepted: number, proposer; the revision noted; value
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local registers = KEYS[1]
-- include cells

if not sign then
  return {now, BARE}
end
return {now, KEPT, era(), told(known(ARGV[1]))}
