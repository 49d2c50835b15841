-- Heed no number up to this any more, and tell of all sheets what was accepted, for one that has forgotten it.
-- KEYS  registers, lapses
-- ARGV  floor
-- gives now (µs) and: bare (it has forgotten) | kept, the highest number that was promised, and for each: name, until
--       when (µs) it is kept, accepted: number, proposer; the revision noted; value
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local registers, lapses = unpack(KEYS)
-- include cells

if not sign then
  return {now, BARE}
end
sign_with(tonumber(ARGV[1]), tonumber(ARGV[1]))
local answer, found = {now, KEPT, text(most_promised)}, redis.call('HGETALL', registers)
for place = 1, #found, 2 do
  local name = found[place]
  local cell = name ~= '' and name ~= '~' and cell_of(found[place + 1])
  if cell and cell.accepted > 0 then
    for _, each in ipairs({name, redis.call('ZSCORE', lapses, name) or text(now), told(cell)}) do
      answer[#answer + 1] = each
    end
  end
end
return answer
