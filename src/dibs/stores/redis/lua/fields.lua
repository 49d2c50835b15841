
local MOST_AT_ONCE = 1000 -- Lua's stack has an end

local function values_of(hash, fields) -- false where there is none
  local found = {}
  for first = 1, #fields, MOST_AT_ONCE do
    local some = redis.call('HMGET', hash, unpack(fields, first, math.min(first + MOST_AT_ONCE - 1, #fields)))
    for place = 1, #some do
      found[first + place - 1] = some[place]
    end
  end
  return found
end
