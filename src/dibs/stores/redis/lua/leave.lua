-- Remove every trace of an owner: a ticket is left, a lease released, and handed to whoever is next.
-- KEYS  lock, line, tickets, expiries, bars, counter, index
-- ARGV  owner, until when (µs) an ask of that owner that is still on its way is to be refused (or 0)
-- gives now (µs) and: released | left | gone; the most common is released alone
local lock, line, tickets, expiries, bars, counter, index = unpack(KEYS)
local owner, bar_until = ARGV[1], tonumber(ARGV[2])

if bar_until == 0 and redis.call('EXISTS', line) == 0 then
  local found = redis.pcall('GET', lock)
  if type(found) == 'string' and string.sub(found, 1, #owner + 1) == owner .. '\n' then
    redis.call('DEL', lock)
    redis.call('ZREM', index, lock)
    return 7
  end
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- include common

look()
if bar_until >= now then
  redis.call('ZREMRANGEBYSCORE', bars, '-inf', '(' .. text(now))
  redis.call('ZADD', bars, text(bar_until), owner)
  local lasts = math.floor((bar_until - now) / 1000) + 1
  if redis.call('PTTL', bars) < lasts then
    redis.call('PEXPIRE', bars, lasts)
  end
end
local value, answer = holder(), GONE
if is_of(value, owner) then
  answer = RELEASED
elseif forget(owner) then
  answer = LEFT
end
if (answer == RELEASED or not value) and serve() then
  return {now, answer}
end
if answer == RELEASED then
  redis.call('DEL', lock)
end
close()
return {now, answer}
