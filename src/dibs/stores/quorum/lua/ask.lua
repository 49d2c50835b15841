-- include turn
-- include staying
-- include sight
-- include stamp

-- One who wants the lock, or a place in its queue: what comes of it. Who asks anew for what it has gets a new fence, so
-- that what it has taken back before cannot be mistaken for it.
local function ask(owner, not_after, seen, ttl, queue, told, room, depth, deaf)
  look()
  if now > tonumber(not_after) or tonumber(redis.call('ZSCORE', bars, owner) or '0') >= now then
    serve()
    settle()
    return {REFUSED}
  end
  local mine, fence, shortest = held_by(owner), nil, nil
  local is_unasked = not (value or mine) and redis.call('EXISTS', line) == 0
  if mine then
    prolong(owner, tonumber(ttl))
    fence = fence_of(mine)
    if fence <= tonumber(seen) then
      fence = next_fence(tonumber(seen))
      redis.call('SET', counter, text(fence))
      stamp(owner, mine, fence)
    end
    serve(nil, deaf)
  elseif is_unasked and has_room(tonumber(room)) then
    fence = next_fence(tonumber(seen))
    grant(owner, fence, ttl, room, depth, told)
  elseif queue == '1' or not (value or is_unasked) then
    shortest = join(owner, tonumber(ttl), table.concat({ttl, seen, text(now), room, depth, told}, '\n'))
    fence = serve(owner, deaf)
  end
  settle()
  if fence then
    return {GRANTED, fence}
  end
  if is_free() then
    return {REFUSED}
  end
  local left = lasts()
  return placed(owner, queue, shortest, left, first(left))
end
