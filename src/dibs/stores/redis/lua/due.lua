-- Look at the sheets that somebody has to look at by some moment, those that waited longest first.
-- KEYS  jobs, due, names
-- ARGV  by when (µs, or '': by now), how many to skip, how many at most
-- gives now (µs), life, when to look at the next one after that moment (µs, or ''), and for each: name, sheet
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local jobs, due, names = unpack(KEYS)
-- include jobs
-- include looking
-- include indexes

local by = ARGV[1] ~= '' and ARGV[1] or text(now)
local after = redis.call('ZRANGEBYSCORE', due, '(' .. by, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
local answer = {now, life(), after[1] ~= '' and after[2] or ''}
local first, left = tonumber(ARGV[2]), tonumber(ARGV[3])
while left > 0 do
  local found = redis.call('ZRANGEBYSCORE', due, '-inf', by, 'LIMIT', first, left)
  if #found == 0 then
    break
  end
  first = first + #found
  for place, sheet in ipairs(values_of(jobs, found)) do
    if not sheet then
      redis.call('ZREM', due, found[place]) -- the sheet was deleted by hand, or evicted
      first = first - 1
    elseif string.find(sheet, '^1\n%d+\n[^\n]*\n') then -- else it is of another version, and is not told
      answer[#answer + 1] = found[place]
      answer[#answer + 1] = sheet
      left = left - 1
    end
  end
end
return answer
