-- Keep leases and tickets, many in one call. Creates none.
-- KEYS  counter, index, then for each: lock, line, tickets, expiries, bars, holders, leases
-- ARGV  for each: owner, ttl (ms), fence (or 0 for a ticket), depth (how often the owner has entered, if that is counted)
-- gives now (µs) and for each: {kept} | {granted, fence} | {queued, ask again (ms)} | {gone}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local counter, index = KEYS[1], KEYS[2]
local lock, line, tickets, expiries, bars, holders, leases
-- include layout
-- include queue
-- include waiting
-- include turn
-- include staying
-- include sight

local function renew(owner, ttl, fence, depth)
  local mine = held_by(owner)
  local is_kept = mine and fence_of(mine) == fence
  if is_kept then
    prolong(owner, ttl)
  end
  if is_kept and not value then
    redis.call('HSET', lock, owner, depth)
  end
  serve()
  return {is_kept and KEPT or GONE}
end

local function keep(owner, ttl)
  local mine = held_by(owner)
  if mine then
    prolong(owner, ttl)
    serve()
    return {GRANTED, fence_of(mine)}
  end
  local shortest = redis.call('ZSCORE', line, owner) and keep_for(owner, ttl)
  local fence = serve(shortest and owner)
  if fence then
    return {GRANTED, fence}
  end
  if not shortest or is_free() then
    return {GONE}
  end
  return {QUEUED, ask_again(redis.call('ZRANK', line, owner), shortest, lasts(), value and shown(value))}
end

redis.call('ZREMRANGEBYSCORE', index, '-inf', text(now))
local answers = {now}
for number = 0, #ARGV / 4 - 1 do
  lock, line, tickets, expiries, bars, holders, leases = unpack(KEYS, 3 + 7 * number, 9 + 7 * number)
  local owner, ttl, fence, depth = unpack(ARGV, 1 + 4 * number, 4 + 4 * number)
  look()
  local is_lease = tonumber(fence) > 0
  answers[number + 2] = is_lease and renew(owner, tonumber(ttl), tonumber(fence), depth) or keep(owner, tonumber(ttl))
  settle()
end
return answers
