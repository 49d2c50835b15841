
-- Who joins the queue of a lock that is held.

local MOST_WAITERS = 10000
local SOON, LATER = 250, 2000 -- how often (ms) to look after a lock whose holder will tell nobody that it has gone

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

local function told_by(ticket)
  return string.match(ticket, '^%d+\n%d+\n%d+\n%d+\n%d+\n([^\n]*)\n')
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
    local known = is_clustered() and redis.call('HGET', tickets, owner)
    if known and told_by(known) ~= told_by(ticket) then -- its slot has moved: it is told by another server now
      redis.call('HSET', tickets, owner, ticket)
    end
    redis.call('HSETNX', tickets, owner, ticket) -- it may have been deleted by hand, or evicted
  end
  return keep_for(owner, ttl, #last == 0)
end

local function ask_again(position, shortest, left, known) -- in how many ms, should nobody tell anything before
  local again = left >= 0 and math.min(shortest, left) or shortest
  if known == '' then
    again = math.min(again, SOON * (position + 1), LATER) -- the first looks for all; the next for it, should it leave
  end
  return again
end

local function placed(owner, queue, shortest, left, holder) -- what one is told who did not get it
  local position = redis.call('ZRANK', line, owner)
  if queue ~= '1' or not position then
    forget(owner)
    return {BUSY, redis.call('ZCARD', line), holder}
  end
  return {QUEUED, position, ask_again(position, shortest, left, holder[2]), holder}
end
