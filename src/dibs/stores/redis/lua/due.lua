-- Look at the sheets that somebody has to look at by now, those that waited longest first.
-- KEYS  jobs, due
-- ARGV  how many to skip, how many at most
-- gives now (µs), life, when to look at the next one after now (µs, or ''), and for each: name, sheet
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local jobs, due = KEYS[1], KEYS[2]
-- include jobs
-- include looking

local function index() -- all anew: it was deleted by hand, or evicted, and the sheets were not
  local found = redis.call('HGETALL', jobs)
  for place = 1, #found, 2 do
    local acts_at = string.match(found[place + 1], '^1\n%d+\n(%-?%d+)\n')
    if acts_at then
      redis.call('ZADD', due, acts_at, found[place])
    end
  end
  if #found > 0 then
    redis.call('ZADD', due, '+inf', '')
  end
end

if not redis.call('ZSCORE', due, '') then
  index()
end
local after = redis.call('ZRANGEBYSCORE', due, '(' .. text(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
local answer = {now, life(), after[1] ~= '' and after[2] or ''}
local names = redis.call('ZRANGEBYSCORE', due, '-inf', text(now), 'LIMIT', ARGV[1], ARGV[2])
for place, sheet in ipairs(sheets_of(names)) do
  if sheet then
    answer[#answer + 1] = names[place]
    answer[#answer + 1] = sheet
  else
    redis.call('ZREM', due, names[place]) -- the sheet was deleted by hand, or evicted
  end
end
return answer
