-- Promise to heed no lower rank for a sheet than this, and tell what was accepted so far; but only to one who has heard
-- from us in this era: others may count on the promise of one that has forgotten it since, and whom we have told.
-- KEYS  registers, lapses
-- ARGV  name, number, proposer, until when (µs) it is kept if nothing is accepted, era
-- gives now (µs) and: bare (it has forgotten) | changed, the number that it has promised itself to, era |
--       kept, era, accepted: number, proposer; the revision noted; value
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local registers, lapses = unpack(KEYS)
local name, number, proposer = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
-- include cells

if not sign then
  return {now, BARE}
end
local cell = known(name)
if ARGV[5] ~= era() or number <= floor or is_above(cell.promised, cell.to, number, proposer) then
  return beaten(cell)
end
cell.promised, cell.to = number, proposer
keep(name, cell)
redis.call('ZADD', lapses, 'NX', ARGV[4], name)
sign_with(floor, number)
return {now, KEPT, era(), told(cell)}
