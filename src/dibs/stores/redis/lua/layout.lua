-- What is kept of a lock. Set before: lock, line, tickets, expiries, holders, leases, counter, index, and now (µs).
--
--   lock      a plain mutex is a text: owner, 1 (the format), fence, ttl (ms), since (µs), channel, who, purpose;
--             a line each. What may be shared, or entered again, is a hash: owner -> how often it has entered.
--             Any other value is somebody else's lock.
--   holders   of those in the hash: owner -> room, then as in the text from the format on;
--             and '' -> the narrowest room there was since the first of them came in
--   leases    of those in the hash: owners by when their lease ends (µs)
--   line      the queue: owners by their place
--   tickets   owner -> ttl (ms), seen, since (µs), room, depth, channel, who, purpose;
--             and '' -> the shortest ttl of them, and until when (µs) all of these keys are kept
--   expiries  owners by when their ticket ends (µs)
--   bars      owners by until when (µs) what they ask is to be refused
--   counter   the last fence
--   index     locks that are held or waited for, by when the last of that ends (µs)

local GRANTED, QUEUED, BUSY, REFUSED, GONE, KEPT, RELEASED, LEFT, EVICTED, CHANGED = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
local NO_LOCK = 12

local function text(number) -- .. would round it
  return string.format('%.0f', number)
end

local function is_clustered() -- then there is a counter for each slot
  return string.find(counter, '{', 1, true)
end

local function note(ends) -- in the index, that there is something about this lock until then
  redis.call('ZADD', index, 'GT', text(ends), lock)
end

local function is_of(known, owner)
  return known and string.sub(known, 1, #owner + 1) == owner .. '\n'
end

local function shown(known) -- without its owner, whose secret it is
  return string.match(known, '^[^\n]*\n(1\n%d+\n%d+\n%d+\n[^\n]*\n[^\n]*\n.*)$') or ''
end
