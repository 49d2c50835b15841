
local function view() -- of the lock as it stands; changes nothing
  local value = holder()
  local seen = {value and 1 or 0, redis.call('PTTL', lock), value and shown(value) or ''}
  for _, owner in ipairs(redis.call('ZRANGE', line, 0, -1)) do
    if tonumber(redis.call('ZSCORE', expiries, owner) or '0') > now then
      seen[#seen + 1] = redis.call('HGET', tickets, owner)
    end
  end
  return seen
end
