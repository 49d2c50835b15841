
-- What others may know of who holds the lock.

local function lasts() -- ms, until the first lease ends; less than 0 if that is not known
  if value then
    return redis.call('PTTL', lock)
  end
  return math.floor((redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')[2] - now) / 1000)
end

local function seen(sharer)
  local left = tonumber(redis.call('ZSCORE', leases, sharer.owner)) - now
  return {math.floor(left / 1000), shown(sharer.known), sharer.room, tonumber(redis.call('HGET', lock, sharer.owner))}
end

local function first(left) -- of all who hold it: ttl left (ms), what others may know; of one in a hash room and depth
  if value then
    return {left, shown(value)}
  end
  local earliest
  for _, sharer in ipairs(sharers()) do
    if not earliest or sharer.fence < earliest.fence then
      earliest = sharer
    end
  end
  return earliest and seen(earliest) or {left, ''}
end
