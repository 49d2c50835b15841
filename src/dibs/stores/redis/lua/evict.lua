-- Take the lock from whoever holds it with this fence; somebody else's lock has fence 0.
-- KEYS  lock, line, tickets, expiries, bars, holders, leases, counter, index
-- ARGV  fence
-- gives now (µs) and: evicted | changed | gone | no lock (what is there was never one, and may be somebody's data)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lock, line, tickets, expiries, bars, holders, leases, counter, index = unpack(KEYS)
local fence = tonumber(ARGV[1])
-- include layout
-- include queue
-- include turn
-- include staying
-- include closing

local function tell(owner, known) -- a thread's channel is its line's
  local channel = string.match(known, '^[^\n]*\n1\n%d+\n%d+\n%d+\n([^\n.]*)[^\n]*\n[^\n]*\n')
  if channel then
    redis.call('PUBLISH', channel, 'evicted ' .. owner .. ' ' .. ARGV[1])
  end
  redis.call('SET', counter, text(tonumber(redis.call('GET', counter) or '0') + 1))
end

look()
local kind = redis.call('TYPE', lock).ok
local may_be_lock = kind == 'string' or (kind == 'hash' and redis.call('PTTL', lock) > 0) -- as other programs have them
if value == '' and fence == 0 and not may_be_lock then
  return {now, NO_LOCK}
end
local answer = is_free() and GONE or CHANGED
if value and fence_of(value) == fence then
  answer = EVICTED
  tell(string.match(value, '^[^\n]*'), value)
  redis.call('DEL', lock, holders, leases)
  value = false
end
for _, sharer in ipairs(inside > 0 and sharers() or {}) do
  if sharer.fence == fence then
    answer = EVICTED
    tell(sharer.owner, sharer.known)
    vacate(sharer.owner)
    inside = inside - 1
  end
end
serve()
settle()
close()
return {now, answer}
