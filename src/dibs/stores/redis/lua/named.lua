-- Look at the sheets whose names are within a range, by name.
-- KEYS  jobs, due, names
-- ARGV  where the range begins and ends (as ZRANGE BYLEX has it), how many at most
-- gives now (µs), life, and for each: name, sheet
local time = redis.call('TIME')
local jobs, due, names = unpack(KEYS)
-- include looking
-- include indexes

local answer, from, left = {time[1] * 1000000 + time[2], life()}, ARGV[1], tonumber(ARGV[3])
while left > 0 do
  local found = redis.call('ZRANGE', names, from, ARGV[2], 'BYLEX', 'LIMIT', 0, left)
  if #found == 0 then
    break
  end
  for place, sheet in ipairs(values_of(jobs, found)) do
    if not sheet then
      redis.call('ZREM', names, found[place]) -- the sheet was deleted by hand, or evicted
    elseif string.find(sheet, '^1\n%d+\n[^\n]*\n') then -- else it is of another version, and is not told
      answer[#answer + 1] = found[place]
      answer[#answer + 1] = sheet
      left = left - 1
    end
  end
  from = '(' .. found[#found]
end
return answer
