-- Take the lock from whoever holds it with this fence; somebody else's lock has fence 0.
-- KEYS  lock, line, tickets, expiries, bars, counter, index
-- ARGV  fence
-- gives now (µs) and: evicted | changed | gone
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lock, line, tickets, expiries, _, counter, index = unpack(KEYS)
-- include common

look()
local value, answer = holder(), GONE
if value and fence_of(value) ~= tonumber(ARGV[1]) then
  return {now, CHANGED}
end
if value then
  answer = EVICTED
  local owner, channel = string.match(value, '^([^\n]*)\n1\n%d+\n%d+\n%d+\n([^\n.]*)[^\n]*\n[^\n]*\n') -- a thread's channel is its line's
  if owner then
    redis.call('PUBLISH', channel, 'evicted ' .. owner .. ' ' .. ARGV[1])
  end
  redis.call('SET', counter, text(tonumber(redis.call('GET', counter) or '0') + 1))
  redis.call('DEL', lock)
end
serve()
close()
return {now, answer}
