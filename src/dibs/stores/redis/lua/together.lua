-- Take several locks, all or none. Who gets none leaves all as it was, and has no place in a queue.
-- KEYS  counter, index, then for each: lock, line, tickets, expiries, bars, holders, leases
-- ARGV  for each: owner, not after (µs), seen (a fence), ttl (ms), what others may know, room, depth
-- gives now (µs) and for each: {granted, fence}; or the place of the first that is not to be had, and {busy, ...} |
--       {refused}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local counter, index = KEYS[1], KEYS[2]
local lock, line, tickets, expiries, bars, holders, leases
-- include layout
-- include queue
-- include waiting
-- include ask

local deaf = {}

local function is_deaf(channel)
  if deaf[channel] == nil then
    deaf[channel] = redis.call('PUBSUB', 'NUMSUB', channel)[2] == 0
  end
  return deaf[channel]
end

local function is_waiting(owner)
  return tonumber(redis.call('ZSCORE', expiries, owner) or '0') > now
end

local function ticket_of(owner)
  return string.match(is_waiting(owner) and redis.call('HGET', tickets, owner) or '', TICKET)
end

-- The lock as it would be once those were let in who stand before the owner: how many would be inside, the narrowest
-- of their rooms, the first of them (if nobody is inside yet), and whether one stops all behind it.
local function foresee(owner)
  local within, limit, earliest = inside, math.huge, nil
  for _, sharer in ipairs(inside > 0 and sharers() or {}) do
    limit = math.min(limit, sharer.room)
  end
  for _, other in ipairs(redis.call('ZRANGE', line, 0, -1)) do
    local ttl, seen, room, depth, channel, rest = ticket_of(other)
    if ttl and other == owner then
      break
    end
    if ttl and not is_deaf(channel) then
      if within > 0 and within >= math.min(limit, tonumber(room)) then
        return within, limit, earliest, true
      end
      local known = table.concat({'1', text(next_fence(tonumber(seen))), ttl, text(now), channel, rest}, '\n')
      within, limit = within + 1, math.min(limit, tonumber(room))
      earliest = earliest or {tonumber(ttl), known, tonumber(room), tonumber(depth)}
    end
  end
  return within, limit, earliest, false
end

-- What `ask` would answer one that takes no place in the queue, unless it is that the lock is granted.
local function refusal(owner, not_after, room)
  find()
  if now > not_after or tonumber(redis.call('ZSCORE', bars, owner) or '0') >= now then
    return {REFUSED}
  end
  if held_by(owner) then
    return
  end
  local waiting = redis.call('ZCOUNT', expiries, '(' .. text(now), '+inf') - (is_waiting(owner) and 1 or 0)
  if value then
    return {BUSY, waiting, first(lasts())}
  end
  local within, limit, earliest, is_stopped = foresee(owner)
  local _, _, room_of_ticket = ticket_of(owner) -- who waits already is asked for as it waits
  local has_place = is_waiting(owner) or waiting < MOST_WAITERS
  if has_place and not is_stopped and (within == 0 or within < math.min(limit, tonumber(room_of_ticket or room))) then
    return
  end
  if within == 0 then
    return {REFUSED}
  end
  return {BUSY, waiting - (within - inside), inside > 0 and first(lasts()) or earliest}
end

local function turn_to(number)
  lock, line, tickets, expiries, bars, holders, leases = unpack(KEYS, 3 + 7 * number, 9 + 7 * number)
  return unpack(ARGV, 1 + 7 * number, 7 + 7 * number)
end

local last, answers = #ARGV / 7 - 1, {now}
for number = 0, last do
  local owner, not_after, _, _, _, room = turn_to(number)
  local refused = refusal(owner, tonumber(not_after), tonumber(room))
  if refused then
    return {now, number, refused}
  end
end
for number = 0, last do
  local owner, not_after, seen, ttl, told, room, depth = turn_to(number)
  answers[number + 2] = ask(owner, not_after, seen, ttl, '0', told, room, depth, deaf)
end
return answers
