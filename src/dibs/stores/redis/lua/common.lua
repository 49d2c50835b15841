-- What the turns are made of. Set before: lock, line, tickets, expiries, counter, index, and now (µs).
--
--   lock      a text: owner, 1 (the format), fence, ttl (ms), since (µs), channel, who, purpose; a line each.
--             Any other value is somebody else's lock.
--   line      the queue: owners by their place
--   tickets   owner -> ttl (ms), seen, since (µs), channel, who, purpose;
--             and '' -> the shortest ttl of them, and until when (µs) all of these keys are kept
--   expiries  owners by when their ticket ends (µs)
--   bars      owners by until when (µs) what they ask is to be refused
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
  redis.call('ZADD', index, 'GT', text(ends), lock)
end

local function remove(owner) -- one of several
  redis.call('HDEL', tickets, owner)
  redis.call('ZREM', expiries, owner)
  return redis.call('ZREM', line, owner) == 1
end

local function forget(owner)
  local was_there = remove(owner)
  if redis.call('EXISTS', line) == 0 then
    redis.call('DEL', tickets, expiries)
  end
  return was_there
end

local function look() -- drop what has expired; the lock itself does that alone
  for _, owner in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', text(now))) do
    forget(owner)
  end
end

local function keep_for(owner, ttl, is_first) -- a ticket, and all that hangs on it; gives the shortest ttl there is
  redis.call('ZADD', expiries, text(now + ttl * 1000), owner)
  local found, kept_until = string.match(redis.call('HGET', tickets, '') or '', '^(%d+) (%d+)$')
  local shortest = math.min(tonumber(found or ttl), ttl)
  if is_first or not found or ttl < tonumber(found) or tonumber(kept_until) < now + ttl * 1000 then
    redis.call('HSET', tickets, '', text(shortest) .. ' ' .. text(now + 2 * ttl * 1000)) -- twice: so this is seldom
    redis.call('PEXPIRE', line, 2 * ttl)
    redis.call('PEXPIRE', tickets, 2 * ttl)
    redis.call('PEXPIRE', expiries, 2 * ttl)
  end
  note(now + ttl * 1000)
  return shortest
end

local function refresh(owner, ttl)
  return redis.call('ZSCORE', line, owner) and keep_for(owner, ttl)
end

local function join(owner, ttl, ticket)
  local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')
  if redis.call('ZADD', line, 'NX', text(tonumber(last[2] or '0') + 1), owner) == 1 then
    if redis.call('ZCARD', line) > MOST_WAITERS then
      redis.call('ZREM', line, owner)
      return
    end
    redis.call('HSET', tickets, owner, ticket)
  else
    redis.call('HSETNX', tickets, owner, ticket) -- it may have been deleted by hand, or evicted
  end
  return keep_for(owner, ttl, #last == 0)
end

local function prolong(ttl)
  redis.call('PEXPIRE', lock, ttl)
  note(now + ttl * 1000)
end

local function next_fence(seen)
  return math.max(tonumber(redis.call('GET', counter) or '0') + 1, now, seen + 1)
end

local function grant(owner, fence, ttl, told)
  redis.call('SET', counter, text(fence))
  local value = table.concat({owner, '1', text(fence), ttl, text(now), told}, '\n')
  redis.call('SET', lock, value, 'PX', ttl)
  note(now + ttl * 1000)
end

-- Give the lock, which is free, to the first live ticket, and tell its process, unless it is the asker.
local function serve(asker)
  local start, most, deaf = 0, 2, {} -- nearly always it is the first of all
  while true do
    local owners = redis.call('ZRANGE', line, start, start + most - 1)
    if #owners == 0 then
      return false
    end
    local found = redis.call('HMGET', tickets, unpack(owners))
    for place, owner in ipairs(owners) do
      local ticket = found[place] -- none of a hash that was deleted by hand, or evicted
      local ttl, seen, channel, rest = string.match(ticket or '', '^(%d+)\n(%d+)\n%d+\n([^\n]*)\n(.*)$')
      if ticket and (owner == asker or not deaf[channel]) then
        local fence = next_fence(tonumber(seen))
        local told = 'handed ' .. owner .. ' ' .. text(fence)
        if owner == asker or redis.call('PUBLISH', channel, told) > 0 then
          if start + #owners == 1 then
            redis.call('DEL', line, tickets, expiries)
          else
            remove(owner)
          end
          grant(owner, fence, ttl, channel .. '\n' .. rest)
          return true
        end
        deaf[channel] = true
      end
    end
    start, most = start + #owners, 64
  end
end

local function close() -- the index forgets a lock about which there is nothing more to say
  if redis.call('EXISTS', lock, line) == 0 then
    redis.call('ZREM', index, lock)
  end
end

local function ask_again(value, position, left, shortest) -- in how many ms, should nobody tell anything before
  local again = left >= 0 and math.min(shortest, left) or shortest
  if shown(value) == '' then
    again = math.min(again, SOON * (position + 1), LATER) -- the first looks for all; the next for it, should it leave
  end
  return again
end
