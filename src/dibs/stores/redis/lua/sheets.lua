-- Look at the sheets of some jobs.
-- KEYS  jobs
-- ARGV  their names
-- gives now (µs), life, and for each: its sheet, or nothing
local time = redis.call('TIME')
local jobs = KEYS[1]
-- include looking

local answer = {time[1] * 1000000 + time[2], life()}
for place, sheet in ipairs(values_of(jobs, ARGV)) do
  answer[place + 2] = sheet
end
return answer
