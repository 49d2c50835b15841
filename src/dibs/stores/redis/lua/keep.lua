-- Keep leases and tickets, many in one call. Creates none.
-- KEYS  counter, index, then for each: lock, line, tickets, expiries
-- ARGV  for each: owner, ttl (ms), fence (or 0 for a ticket)
-- gives now (µs) and for each: {kept} | {granted, fence} | {queued, ask again (ms)} | {gone}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local counter, index = KEYS[1], KEYS[2]
local lock, line, tickets, expiries
-- include common

local function keep(owner, ttl, fence)
  look()
  local value = holder()
  if fence > 0 then
    if is_of(value, owner) and fence_of(value) == fence then
      prolong(ttl)
      return {KEPT}
    end
    if not value then
      serve()
    end
    return {GONE}
  end
  if is_of(value, owner) then
    prolong(ttl)
    return {GRANTED, fence_of(value)}
  end
  local shortest = refresh(owner, ttl)
  if not value then
    serve(shortest and owner or nil)
    value = holder()
  end
  if not shortest or not value then
    return {GONE}
  end
  if is_of(value, owner) then
    return {GRANTED, fence_of(value)}
  end
  return {QUEUED, ask_again(value, redis.call('ZRANK', line, owner), redis.call('PTTL', lock), shortest)}
end

redis.call('ZREMRANGEBYSCORE', index, '-inf', text(now))
local answers = {now}
for number = 0, #ARGV / 3 - 1 do
  lock, line, tickets, expiries = unpack(KEYS, 3 + 4 * number, 6 + 4 * number)
  answers[number + 2] = keep(ARGV[1 + 3 * number], tonumber(ARGV[2 + 3 * number]), tonumber(ARGV[3 + 3 * number]))
end
return answers
