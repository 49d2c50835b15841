
-- Who holds the lock. Once it was looked for:
local value -- the text at its key; '' for anything else that is not ours; false if it is free, or a hash of ours
local inside, narrowest = 0, 0 -- how many are in that hash, and a room that none of theirs is narrower than
local has_dead = false -- whether there are more, whose lease has ended
local listed -- all of them, once that was asked for

local function is_of(known, owner)
  return known and string.sub(known, 1, #owner + 1) == owner .. '\n'
end

local function fence_of(known)
  return tonumber(string.match(known, '^[^\n]*\n1\n(%d+)\n%d+\n%d+\n[^\n]*\n[^\n]*\n') or '0')
end

local function shown(known) -- without its owner, whose secret it is
  return string.match(known, '^[^\n]*\n(1\n%d+\n%d+\n%d+\n[^\n]*\n[^\n]*\n.*)$') or ''
end

-- See who holds it, and change nothing. A hash is ours if what we keep beside it tells of all who are in it.
local function find()
  value, inside, has_dead, listed = redis.call('MGET', lock)[1], 0, false, nil
  if value then
    return
  end
  local kind = redis.call('TYPE', lock).ok
  if kind == 'none' then
    return
  end
  value = ''
  if kind ~= 'hash' then
    return
  end
  local first, count = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES'), redis.call('ZCARD', leases)
  narrowest = tonumber(redis.call('HGET', holders, '') or '0')
  if narrowest > 0 and redis.call('HLEN', lock) == count and redis.call('HEXISTS', lock, first[1]) == 1 then
    value, has_dead = false, tonumber(first[2]) <= now
    inside = has_dead and redis.call('ZCOUNT', leases, '(' .. text(now), '+inf') or count
  end
end

local function is_free()
  return not value and inside == 0
end

local function held_by(owner) -- what is kept of its hold
  if value then
    return is_of(value, owner) and value
  end
  local ends = inside > 0 and redis.call('ZSCORE', leases, owner)
  return ends and tonumber(ends) > now and redis.call('HGET', holders, owner)
end

local function sharers() -- all in the hash, in no order
  if listed then
    return listed
  end
  local all = redis.call('HGETALL', holders)
  listed = {}
  for place = 1, #all, 2 do
    local owner, known = all[place], all[place + 1]
    local room, fence = string.match(known, '^(%d+)\n1\n(%d+)\n') -- who has another format is let alone
    if owner ~= '' and (not has_dead or tonumber(redis.call('ZSCORE', leases, owner) or '0') > now) then
      listed[#listed + 1] = {owner = owner, known = known, room = tonumber(room or '1'), fence = tonumber(fence or '0')}
    end
  end
  return listed
end

local function recount() -- who was the narrowest may have left
  local least
  for _, sharer in ipairs(sharers()) do
    least = math.min(least or sharer.room, sharer.room)
  end
  narrowest = least or 1
end

local function is_full() -- whether nobody would fit
  if not value and inside >= narrowest and narrowest > 1 then
    recount()
  end
  return value and true or inside > 0 and inside >= narrowest
end

local function has_room(room)
  return (inside == 0 or inside < room) and not is_full()
end

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
