
-- How those who wait get in. There may be no ticket of one: the hash can be deleted by hand, or evicted.

local TICKET = '^(%d+)\n(%d+)\n%d+\n(%d+)\n(%d+)\n([^\n]*)\n(.*)$'

local function next_fence(seen)
  return math.max(tonumber(redis.call('GET', counter) or '0') + 1, now, seen + 1)
end

-- One who is the next in line: gives its fence if it is in, nil if it is passed over, false if it stops all behind it.
local function admit(owner, ticket, is_asker, deaf)
  local ttl, seen, room, depth, channel, rest = string.match(ticket or '', TICKET)
  if not ttl or (deaf[channel] and not is_asker) then
    return nil
  end
  if not has_room(tonumber(room)) then
    deaf[channel] = not is_asker and redis.call('PUBSUB', 'NUMSUB', channel)[2] == 0
    return deaf[channel] and nil
  end
  local fence = next_fence(tonumber(seen))
  -- What is published in a cluster is heard on all its servers: who listens to another one must not be told at all.
  if not is_asker and is_clustered() and redis.call('PUBSUB', 'NUMSUB', channel)[2] == 0 then
    deaf[channel] = true
    return nil
  end
  if not is_asker and redis.call('PUBLISH', channel, 'handed ' .. owner .. ' ' .. text(fence)) == 0 then
    deaf[channel] = true
    return nil
  end
  grant(owner, fence, ttl, room, depth, channel .. '\n' .. rest)
  return fence
end

-- Let in the first live tickets, as far as there is room, and tell their processes, unless it is the asker.
-- `deaf` are channels that are known to have no listener. Gives the asker's fence, if it is in.
local function serve(asker, deaf)
  local start, most, served, mine, is_over = 0, 2, 0, nil, false -- nearly always it is the first of all
  deaf = deaf or {}
  while not is_over and not is_full() do
    local owners = redis.call('ZRANGE', line, start, start + most - 1)
    local found = #owners > 0 and redis.call('HMGET', tickets, unpack(owners))
    is_over = #owners == 0
    for place, owner in ipairs(owners) do
      local fence = admit(owner, found[place], owner == asker, deaf)
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
  return mine
end
