-- What the turns are made of.
-- include layout

local GRANTED, QUEUED, BUSY, REFUSED, GONE, KEPT, RELEASED, LEFT, EVICTED, CHANGED = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10

local function note(ends) -- in the index, that there is something about this lock until then
  redis.call('ZADD', index, 'GT', text(ends), lock)
end

-- include queue
-- include holders
-- include entries
-- include serving
