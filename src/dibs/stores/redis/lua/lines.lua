-- Look at what was noted, the latest first; of the same time, what was noted last.
-- KEYS  entries, the lines of a name, and what is tagged with it
-- ARGV  until (µs), since (µs), how many to skip, how many at most
-- gives now (µs), and for each: at (µs), entry
local time = redis.call('TIME')
local entries, lines, tagged = unpack(KEYS)
local skip, most = tonumber(ARGV[3]), tonumber(ARGV[4])
-- include fields

local function found_in(key, first, count)
  local found = {}
  local some = redis.call('ZRANGE', key, ARGV[1], ARGV[2], 'BYSCORE', 'REV', 'LIMIT', first, count, 'WITHSCORES')
  for place = 1, #some, 2 do
    found[#found + 1] = {id = some[place], at = some[place + 1]}
  end
  return found
end

local function is_later(one, other)
  if one.at ~= other.at then
    return tonumber(one.at) > tonumber(other.at)
  end
  return tonumber(one.id, 16) > tonumber(other.id, 16)
end

local function found() -- in the one or in the other; rarely in both
  if redis.call('EXISTS', tagged) == 0 then
    return found_in(lines, skip, most)
  elseif redis.call('EXISTS', lines) == 0 then
    return found_in(tagged, skip, most)
  end
  local all, some = found_in(lines, 0, skip + most), {}
  for _, each in ipairs(found_in(tagged, 0, skip + most)) do
    all[#all + 1] = each
  end
  table.sort(all, is_later)
  for place = skip + 1, math.min(skip + most, #all) do
    some[#some + 1] = all[place]
  end
  return some
end

local told, ids = found(), {}
for place, each in ipairs(told) do
  ids[place] = each.id
end
local answer = {time[1] * 1000000 + time[2]}
for place, entry in ipairs(values_of(entries, ids)) do
  if entry then
    answer[#answer + 1] = told[place].at
    answer[#answer + 1] = entry
  else
    redis.call('ZREM', lines, ids[place]) -- the entry was deleted by hand, or evicted
    redis.call('ZREM', tagged, ids[place])
  end
end
return answer
