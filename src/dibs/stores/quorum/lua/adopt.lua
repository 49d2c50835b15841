-- Take over what others have accepted, where it was forgotten; and count again from there.
-- KEYS  registers, lapses
-- ARGV  the token it is told under, floor, and for each sheet: name, until when (µs) it is kept, accepted: number, proposer; value
-- gives now (µs) and: gone (it has forgotten the token, too) | kept
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local registers, lapses = unpack(KEYS)
-- include cells

if sign then -- somebody else was quicker: what it has promised since, it has promised without knowing of this
  return {now, KEPT}
end
if redis.call('HGET', registers, '~') ~= ARGV[1] then
  return {now, GONE}
end
for place = 3, #ARGV, 5 do
  local name, lapses_at, accepted, from, value = unpack(ARGV, place, place + 4)
  local cell = known(name)
  if is_above(tonumber(accepted), tonumber(from), cell.accepted, cell.from) then
    cell.accepted, cell.from, cell.value = tonumber(accepted), tonumber(from), value
    keep(name, cell)
    redis.call('ZADD', lapses, lapses_at, name)
  end
end
life = ARGV[1]
sign_with(tonumber(ARGV[2]), tonumber(ARGV[2]))
redis.call('HDEL', registers, '~')
return {now, KEPT}
