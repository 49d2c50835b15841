
-- Who leaves the queue.

local function remove(owner) -- one of several
  redis.call('HDEL', tickets, owner)
  redis.call('ZREM', expiries, owner)
  return redis.call('ZREM', line, owner) == 1
end

local function tidy() -- nobody may be left
  if redis.call('EXISTS', line) == 0 then
    redis.call('DEL', tickets, expiries)
  end
end

local function forget(owner)
  local was_there = remove(owner)
  tidy()
  return was_there
end

local function drop() -- whose ticket has run out
  for _, owner in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', text(now))) do
    forget(owner)
  end
end
