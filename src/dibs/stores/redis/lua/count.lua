-- Add to what a fleet has counted: a hash, name -> what and how often; a line each.
-- KEYS  counts
-- ARGV  how many names there may be, what the others are called; then for each: name, what, by
local counts, most, others = KEYS[1], tonumber(ARGV[1]), ARGV[2]

local function added(known, what, by)
  local lines, is_new = {}, true
  for each, number in string.gmatch(known, '([^\n]*) (%d+)') do
    if each == what then
      number, is_new = string.format('%.0f', number + by), false
    end
    lines[#lines + 1] = each .. ' ' .. number
  end
  if is_new then
    lines[#lines + 1] = what .. ' ' .. by
  end
  return table.concat(lines, '\n')
end

for place = 3, #ARGV, 3 do
  local name, what, by = unpack(ARGV, place, place + 2)
  local known = redis.call('HGET', counts, name)
  if not known and redis.call('HLEN', counts) >= most then
    name = others
    known = redis.call('HGET', counts, others)
  end
  redis.call('HSET', counts, name, added(known or '', what, by))
end
return 0
