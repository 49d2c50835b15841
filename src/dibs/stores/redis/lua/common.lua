-- What the turns are made of. Set before: lock, line, tickets, expiries, counter, index, and now (µs).
--
--   lock      a text: owner, 1 (the format), fence, ttl (ms), since (µs), channel, who, purpose; a line each.
--             Any other value is somebody else's lock.
--   line      the queue: owners by their place
--   tickets   owner -> ttl (ms), seen, since (µs), channel, who, purpose; and '' -> the shortest ttl of them
--   expiries  owners by when their ticket ends (µs)
--   bars      owners, and until when (µs) what they ask is to be refused
--   counter   the last fence
--   index     locks that are held or waited for, by when the last of that ends (µs)

local MOST_WAITERS = 10000
local SOON, LATER = 250, 2000 -- how often (ms) to look after a lock whose holder will tell nobody that it has gone

local GRANTED, QUEUED, BUSY, REFUSED, GONE, KEPT, RELEASED, LEFT, EVICTED, CHANGED = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10

local function text(number) -- .. would round it
  return string.format('%.0f', number)
end

local function holder() -- the lock's value, or false if it is free
  local found = redis.pcall('GET', lock)
  if type(found) == 'table' then -- no text at all, but held all the same
    return ''
  end
  return found
end

local function is_of(value, owner)
  return value and string.sub(value, 1, #owner + 1) == owner .. '\n'
end

local function fence_of(value)
  return tonumber(string.match(value, '^[^\n]*\n1\n(%d+)\n%d+\n%d+\n[^\n]*\n[^\n]*\n') or '0')
end

local function shown(value) -- without its owner, whose secret it is
  return string.match(value, '^[^\n]*\n(1\n%d+\n%d+\n%d+\n[^\n]*\n[^\n]*\n.*)$') or ''
end

local function note(ends) -- in the index, that there is something about this lock until then
  if ends > tonumber(redis.call('ZSCORE', index, lock) or '0') then
    redis.call('ZADD', index, text(ends), lock)
  end
end

local function forget(owner)
  if redis.call('ZREM', line, owner) == 0 then
    return false
  end
  redis.call('HDEL', tickets, owner)
  redis.call('ZREM', expiries, owner)
  if redis.call('EXISTS', line) == 0 then
    redis.call('DEL', tickets)
  end
  return true
end

local function look() -- drop what has expired; the lock itself does that alone
  if redis.call('EXISTS', line) == 1 then
    for _, owner in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', text(now))) do
      forget(owner)
    end
  end
end

local function keep_for(owner, ttl) -- a ticket, and all that hangs on it
  redis.call('ZADD', expiries, text(now + ttl * 1000), owner)
  if redis.call('PTTL', line) < ttl or redis.call('PTTL', tickets) < ttl then
    redis.call('PEXPIRE', line, ttl)
    redis.call('PEXPIRE', tickets, ttl)
    redis.call('PEXPIRE', expiries, ttl)
  end
  note(now + ttl * 1000)
end

local function refresh(owner, ttl)
  if not redis.call('ZSCORE', line, owner) then
    return false
  end
  keep_for(owner, ttl)
  return true
end

local function join(owner, ttl, ticket)
  if redis.call('ZSCORE', line, owner) then
    if not redis.call('HGET', tickets, owner) then -- deleted by hand, or evicted
      redis.call('HSET', tickets, owner, ticket)
    end
    return keep_for(owner, ttl)
  end
  if redis.call('ZCARD', line) >= MOST_WAITERS then
    return
  end
  local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')
  redis.call('ZADD', line, text(tonumber(last[2] or '0') + 1), owner)
  redis.call('HSET', tickets, owner, ticket)
  local shortest = redis.call('HGET', tickets, '')
  if not shortest or ttl < tonumber(shortest) then
    redis.call('HSET', tickets, '', ttl)
  end
  keep_for(owner, ttl)
end

local function prolong(ttl)
  redis.call('PEXPIRE', lock, ttl)
  note(now + ttl * 1000)
end

local function next_fence(seen)
  return math.max(tonumber(redis.call('GET', counter) or '0') + 1, now, seen + 1)
end

local function grant(owner, fence, ttl, told)
  forget(owner)
  redis.call('SET', counter, text(fence))
  local value = table.concat({owner, '1', text(fence), ttl, text(now), told}, '\n')
  redis.call('SET', lock, value, 'PX', ttl)
  note(now + ttl * 1000)
end

local function serve(asker) -- give the free lock to the first live ticket, and tell its process, unless it is the asker
  local start, deaf = 0, {}
  while true do
    local owners = redis.call('ZRANGE', line, start, start + 63)
    if #owners == 0 then
      return
    end
    local found = redis.call('HMGET', tickets, unpack(owners))
    for place, owner in ipairs(owners) do
      local ticket = found[place] -- none of a hash that was deleted by hand, or evicted
      local ttl, seen, channel, rest = string.match(ticket or '', '^(%d+)\n(%d+)\n%d+\n([^\n]*)\n(.*)$')
      if ticket and (owner == asker or not deaf[channel]) then
        local fence = next_fence(tonumber(seen))
        local told = 'handed ' .. owner .. ' ' .. text(fence)
        if owner == asker or redis.call('PUBLISH', channel, told) > 0 then
          return grant(owner, fence, ttl, channel .. '\n' .. rest)
        end
        deaf[channel] = true
      end
    end
    start = start + #owners
  end
end

local function close() -- the index forgets a lock about which there is nothing more to say
  if redis.call('EXISTS', lock, line) == 0 then
    redis.call('ZREM', index, lock)
  end
end

local function ask_again(value, position) -- in how many ms, should nobody tell anything before
  local again = tonumber(redis.call('HGET', tickets, '') or LATER)
  local left = redis.call('PTTL', lock)
  if left >= 0 then
    again = math.min(again, left)
  end
  if shown(value) == '' then
    again = math.min(again, SOON * (position + 1), LATER) -- the first looks for all; the next for it, should it leave
  end
  return again
end
