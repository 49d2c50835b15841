-- Give a hold the fence that was agreed on, if it is still its owner's; and count from there.
-- KEYS  lock, line, tickets, expiries, bars, holders, leases, counter, index
-- ARGV  owner, fence
-- gives now (µs) and: kept | changed, counter (others have that fence, or a higher one) | gone
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lock, line, tickets, expiries, bars, holders, leases, counter, index = unpack(KEYS)
local owner, fence = ARGV[1], tonumber(ARGV[2])
-- include layout
-- include holders
-- include stamp

find()
local mine = held_by(owner)
if not mine then
  return {now, GONE}
end
stamp(owner, mine, fence)
local last = tonumber(redis.call('GET', counter) or '0')
if last >= fence then
  return {now, CHANGED, last}
end
redis.call('SET', counter, ARGV[2])
return {now, KEPT}
