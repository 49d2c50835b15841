-- Set a sheet, if this very rank was promised, and no other since.
-- KEYS  registers, lapses
-- ARGV  name, number, proposer, not after (µs, or ''), until when (µs) it is kept, value
-- gives now (µs) and: bare (it has forgotten) | changed, the number that it has promised itself to, era |
--       late | kept
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local registers, lapses = unpack(KEYS)
local name, number, proposer = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
-- include cells

local MOST_DROPPED = 20

if not sign then
  return {now, BARE}
end
local cell = known(name)
if number <= floor or cell.promised ~= number or cell.to ~= proposer then
  return beaten(cell)
end
if ARGV[4] ~= '' and now > tonumber(ARGV[4]) then
  return {now, LATE}
end
cell.accepted, cell.from, cell.value = number, proposer, ARGV[6]
keep(name, cell)
redis.call('ZADD', lapses, ARGV[5], name)
for _, old in ipairs(redis.call('ZRANGEBYSCORE', lapses, '-inf', text(now), 'LIMIT', 0, MOST_DROPPED)) do
  redis.call('HDEL', registers, old)
  redis.call('ZREM', lapses, old)
end
return {now, KEPT}
