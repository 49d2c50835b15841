-- Remove every trace of an owner: a ticket is left, a lease released, and handed to whoever is next.
-- KEYS  lock, line, tickets, expiries, bars, holders, leases, counter, index; and memo, if there is one to be kept
-- ARGV  owner, until when (µs) an ask of that owner that is still on its way is to be refused (or 0),
--       the channel of whoever hears the answer;
--       and of a memo: until when (ms) it is kept, and its text
-- gives now (µs) and: released | left | gone, and a list of what would have been pushed to that channel;
--       the most common is released alone
local lock, line, tickets, expiries, bars, holders, leases, counter, index, memo = unpack(KEYS)
local owner, bar_until = ARGV[1], tonumber(ARGV[2])

if bar_until == 0 and not memo then
  local beside = redis.call('EXISTS', line, holders, holders) -- a line is one, holders are two
  if beside == 0 then
    local found = redis.pcall('GET', lock)
    if type(found) == 'string' and string.sub(found, 1, #owner + 1) == owner .. '\n' then
      redis.call('DEL', lock)
      redis.call('ZREM', index, lock)
      return 7
    end
  elseif beside == 2 and redis.pcall('HLEN', lock) == 1 and redis.call('HEXISTS', holders, owner) == 1 then
    if redis.call('HDEL', lock, owner) == 1 then
      redis.call('DEL', holders, leases)
      redis.call('ZREM', index, lock)
      return 7
    end
  end
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- include layout
-- include queue
-- include turn
-- include closing

look()
if bar_until >= now then
  redis.call('ZREMRANGEBYSCORE', bars, '-inf', '(' .. text(now))
  redis.call('ZADD', bars, text(bar_until), owner)
  local lasts = math.floor((bar_until - now) / 1000) + 1
  if redis.call('PTTL', bars) < lasts then
    redis.call('PEXPIRE', bars, lasts)
  end
end
local answer, was_text = GONE, is_of(value, owner)
if was_text then
  value, answer = false, RELEASED
elseif held_by(owner) then
  vacate(owner)
  inside, answer = inside - 1, RELEASED
elseif forget(owner) then
  answer = LEFT
elseif value == '' and vacate(owner) then -- of what we keep beside the hash a part was deleted by hand, or evicted
  find()
end
if answer == RELEASED and memo then
  redis.call('SET', memo, text(now) .. '\n' .. ARGV[5], 'PXAT', ARGV[4])
end
local _, told = serve(nil, nil, ARGV[3])
settle()
if is_free() then
  if was_text then
    redis.call('DEL', lock)
  end
  close()
end
return {now, answer, told}
