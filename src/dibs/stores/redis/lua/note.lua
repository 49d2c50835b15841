-- Add to a history without a sheet.
-- KEYS  counter, entries, ends; and, made from `entries`: the lines of the name and what is tagged with each tag, in the same
--       slot
-- ARGV  name, how many entries to keep, for how long (ms), and for each that is new: at (µs), tags (a tab before each), text
-- gives now (µs)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local counter, entries, ends = unpack(KEYS)
local name, most, lasts = unpack(ARGV, 1, 3)
local count = (#ARGV - 3) / 3
-- include jobs
-- include histories

if count > 0 then
  local first = math.max(tonumber(redis.call('GET', counter) or '0') + 1, now)
  redis.call('SET', counter, text(first + count - 1))
  note(name, first, tonumber(most), tonumber(lasts), 4, count)
end
return {now}
