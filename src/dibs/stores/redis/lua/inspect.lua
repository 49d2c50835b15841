-- Look at a lock, also if it is free.
-- KEYS  lock, line, tickets, expiries, bars, holders, leases, counter, index
-- gives now (µs) and: {{its holders, each as in acquire.lua, first come first}, then the tickets of those who wait}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lock, line, tickets, expiries, bars, holders, leases, counter, index = unpack(KEYS)
-- include layout
-- include holders
-- include sight
-- include view

return {now, view()}
