-- Take back a part of a lock that was granted under this fence; a ticket, and what was granted since, stay.
-- KEYS  lock, line, tickets, expiries, bars, holders, leases, counter, index
-- ARGV  owner, fence
-- gives now (µs) and: released | gone
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lock, line, tickets, expiries, bars, holders, leases, counter, index = unpack(KEYS)
local owner, fence = ARGV[1], tonumber(ARGV[2])
-- include layout
-- include queue
-- include turn
-- include staying
-- include closing

look()
local mine, answer = held_by(owner), GONE
if mine and fence_of(mine) == fence then
  answer = RELEASED
  if value then
    value = false
    redis.call('DEL', lock)
  else
    vacate(owner)
    inside = inside - 1
  end
end
serve()
settle()
close()
return {now, answer}
