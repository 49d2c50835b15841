-- Look at a lock, also if it is free.
-- KEYS  lock, line, tickets, expiries, bars, counter, index
-- gives now (µs) and: {1 if it is held, ttl left (ms), holder, then the tickets of those who wait, in order}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lock, line, tickets, expiries = unpack(KEYS)
local counter, index
-- include common
-- include view

return {now, view()}
