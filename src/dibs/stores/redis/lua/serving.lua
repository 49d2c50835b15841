
-- How those who wait get in. There may be no ticket of one: the hash can be deleted by hand, or evicted.

local TICKET = '^(%d+)\n(%d+)\n%d+\n(%d+)\n(%d+)\n([^\n]*)\n(.*)$'

local function next_fence(seen)
  return math.max(tonumber(redis.call('GET', counter) or '0') + 1, now, seen + 1)
end

-- Whether the process of one who gets the lock hears of it. (What is published in a cluster is heard on all its servers:
-- who listens to another one must not be told at all.)
local function hears(channel, words)
  if is_clustered() and redis.call('PUBSUB', 'NUMSUB', channel)[2] == 0 then
    return false
  end
  return redis.call('PUBLISH', channel, words) > 0
end

-- One who is the next in line: gives its fence if it is in, nil if it is passed over, false if it stops all behind it.
local function admit(owner, ticket, is_asker, deaf, near, told)
  local ttl, seen, room, depth, channel, rest = string.match(ticket or '', TICKET)
  if not ttl or (deaf[channel] and not is_asker) then
    return nil
  end
  if not has_room(tonumber(room)) then
    deaf[channel] = not is_asker and redis.call('PUBSUB', 'NUMSUB', channel)[2] == 0
    return deaf[channel] and nil
  end
  local fence = next_fence(tonumber(seen))
  local words = 'handed ' .. owner .. ' ' .. text(fence)
  if channel == near and near ~= '' then
    told[#told + 1] = words
  elseif not is_asker and not hears(channel, words) then
    deaf[channel] = true
    return nil
  end
  grant(owner, fence, ttl, room, depth, channel .. '\n' .. rest)
  return fence
end

-- Let in the first live tickets, as far as there is room, and tell their processes, unless it is the asker.
-- `deaf` are channels that are known to have no listener; what concerns the channel that is `near` is the caller's to tell.
-- Gives the asker's fence, if it is in, and all that is to be told.
local function serve(asker, deaf, near)
  local start, most, served, mine, is_over = 0, 2, 0, nil, false -- nearly always it is the first of all
  local told = {}
  deaf = deaf or {}
  while not is_over and not is_full() do
    local owners = redis.call('ZRANGE', line, start, start + most - 1)
    local found = #owners > 0 and redis.call('HMGET', tickets, unpack(owners))
    is_over = #owners == 0
    for place, owner in ipairs(owners) do
      local fence = admit(owner, found[place], owner == asker, deaf, near, told)
      is_over = fence == false or is_full()
      if fence then
        mine = owner == asker and fence or mine
        served = served + 1
        if start + #owners == 1 then
          redis.call('DEL', line, tickets, expiries)
        else
          remove(owner)
        end
      elseif fence == nil then
        start = start + 1
      end
      if is_over then
        break
      end
    end
    most = 64
  end
  if served > 1 then
    tidy()
  end
  return mine, told
end
