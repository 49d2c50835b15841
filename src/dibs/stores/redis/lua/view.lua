
local function view() -- of the lock as it stands: {its holders}, then the tickets of those who wait; changes nothing
  find()
  local all = {}
  local found = {all}
  if value then
    all[1] = first(lasts())
  elseif inside > 0 then
    local inside_it = sharers()
    table.sort(inside_it, function(one, other) return one.fence < other.fence end)
    for place, sharer in ipairs(inside_it) do
      all[place] = seen(sharer)
    end
  end
  for _, owner in ipairs(redis.call('ZRANGE', line, 0, -1)) do
    if tonumber(redis.call('ZSCORE', expiries, owner) or '0') > now then
      found[#found + 1] = redis.call('HGET', tickets, owner) or nil
    end
  end
  return found
end
