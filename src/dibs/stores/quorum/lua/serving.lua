
-- How those who wait get in, where a majority of servers decides: so none hands its part over. Who asks is let in if
-- there is room; whoever else would fit is woken, and asks again.

local TICKET = '^(%d+)\n(%d+)\n%d+\n(%d+)\n(%d+)\n([^\n]*)\n(.*)$'

local function next_fence(seen)
  return math.max(tonumber(redis.call('GET', counter) or '0') + 1, now, seen + 1)
end

local function is_listening(channel, deaf)
  if deaf[channel] == nil then
    deaf[channel] = redis.call('PUBSUB', 'NUMSUB', channel)[2] == 0
  end
  return not deaf[channel]
end

-- Wake the first of those who would fit, as far as there is room.
local function wake(fitting)
  local limit = math.huge
  for _, sharer in ipairs(inside > 0 and sharers() or {}) do
    limit = math.min(limit, sharer.room)
  end
  local within = inside
  for _, each in ipairs(fitting) do
    if value or (within > 0 and within >= math.min(limit, each.room)) then
      return
    end
    if redis.call('PUBLISH', each.channel, 'woken ' .. each.owner .. ' 0') > 0 then
      within, limit = within + 1, math.min(limit, each.room)
    end
  end
end

-- Let the asker in if it fits, and nobody stands before it who does not; and wake who would fit. Gives its fence.
local function serve(asker, deaf)
  local start, fitting, mine, is_over = 0, {}, nil, is_full()
  deaf = deaf or {}
  while not is_over do
    local owners = redis.call('ZRANGE', line, start, start + 63)
    local found = #owners > 0 and redis.call('HMGET', tickets, unpack(owners))
    for place, owner in ipairs(owners) do
      local ttl, _, room, depth, channel, rest = string.match(found[place] or '', TICKET)
      local fits = ttl and has_room(tonumber(room))
      if fits and owner == asker and votes then
        mine = next_fence(tonumber(ARGV[3])) -- what it has seen by now, not when it came
        grant(owner, mine, ttl, room, depth, channel .. '\n' .. rest)
        forget(owner)
      elseif fits then
        fitting[#fitting + 1] = {owner = owner, channel = channel, room = tonumber(room)}
      end
      if mine or (ttl and not fits and (owner == asker or is_listening(channel, deaf))) then
        is_over = true
        break
      end
    end
    is_over = is_over or #owners < 64
    start = start + #owners
  end
  wake(fitting)
  return mine
end
