-- What is remembered of the work that was done under a lock.
-- KEYS  memo
-- gives now (µs) and, if there is something: when it was made (µs) and the text, a line each
local time = redis.call('TIME')
return {time[1] * 1000000 + time[2], redis.call('GET', KEYS[1]) or nil}
