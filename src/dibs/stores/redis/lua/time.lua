-- What the server's clock says.
-- gives now (µs)
local time = redis.call('TIME')
return {time[1] * 1000000 + time[2]}
