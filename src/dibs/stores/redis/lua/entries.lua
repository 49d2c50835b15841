
-- Who comes in, and goes.

local is_moved = false -- whether a lease in the hash begins or ends at another time now

local function grant(owner, fence, ttl, room, depth, told)
  redis.call('SET', counter, text(fence))
  local known = table.concat({'\n1', text(fence), ttl, text(now), told}, '\n')
  if room == '1' and depth == '0' then
    value = owner .. known
    redis.call('SET', lock, value, 'PX', ttl)
    note(now + ttl * 1000)
    return
  end
  if inside == 0 then
    redis.call('DEL', lock, holders, leases) -- of whoever is about to go, or was deleted by hand
    narrowest = tonumber(room)
  end
  inside, narrowest, listed, is_moved = inside + 1, math.min(narrowest, tonumber(room)), nil, true
  redis.call('HSET', lock, owner, depth)
  redis.call('HSET', holders, owner, room .. known, '', text(narrowest))
  redis.call('ZADD', leases, text(now + ttl * 1000), owner)
end

local function vacate(owner) -- one of those in the hash
  listed, is_moved = nil, true
  redis.call('HDEL', holders, owner)
  redis.call('ZREM', leases, owner)
  return redis.pcall('HDEL', lock, owner) == 1
end

local function look() -- drop what has expired, and see who holds it; a text expires alone
  drop()
  find()
  if has_dead then
    for _, owner in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', text(now))) do
      vacate(owner)
    end
    has_dead = false
  end
end

local function settle() -- a hash lasts as long as the last of its leases, and so does what is beside it
  if not is_moved then
    return
  end
  is_moved = false
  if inside == 0 then
    redis.call('DEL', holders, leases)
    return
  end
  local ends = tonumber(redis.call('ZRANGE', leases, -1, -1, 'WITHSCORES')[2])
  local left = math.ceil((ends - now) / 1000)
  redis.call('PEXPIRE', lock, left)
  redis.call('PEXPIRE', holders, left)
  redis.call('PEXPIRE', leases, left)
  note(ends)
end
