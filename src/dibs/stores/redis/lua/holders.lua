
-- Who holds the lock. Once it was looked for:
local value -- the text at its key; '' for anything else that is not ours; false if it is free, or a hash of ours
local inside, narrowest = 0, 0 -- how many are in that hash, and a room that none of theirs is narrower than
local has_dead = false -- whether there are more, whose lease has ended
local listed -- all of them, once that was asked for

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

local function is_full() -- whether nobody would fit
  if not value and inside >= narrowest and narrowest > 1 then -- who was the narrowest may have left
    local room
    for _, sharer in ipairs(sharers()) do
      room = math.min(room or sharer.room, sharer.room)
    end
    narrowest = room or 1
  end
  return value and true or inside > 0 and inside >= narrowest
end

local function has_room(room)
  return (inside == 0 or inside < room) and not is_full()
end
