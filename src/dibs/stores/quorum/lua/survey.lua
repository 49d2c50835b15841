-- Ask whether all that was ever accepted is still there.
-- KEYS  registers
-- ARGV  under which token it is to be told what it has forgotten, or ''
-- gives now (µs) and: bare (it has forgotten), the token of whoever asked first | kept, the highest number that was promised
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local registers = KEYS[1]
-- include cells

if sign then
  return {now, KEPT, text(most_promised)}
end
if ARGV[1] ~= '' then
  redis.call('HSETNX', registers, '~', ARGV[1])
end
return {now, BARE, redis.call('HGET', registers, '~') or ''}
