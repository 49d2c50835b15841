
-- Who holds the lock for longer.

local function fence_of(known)
  return tonumber(string.match(known, '^[^\n]*\n1\n(%d+)\n%d+\n%d+\n[^\n]*\n[^\n]*\n') or '0')
end

local function prolong(owner, ttl)
  if value then
    redis.call('PEXPIRE', lock, ttl)
    note(now + ttl * 1000)
  else
    redis.call('ZADD', leases, text(now + ttl * 1000), owner)
    is_moved = true
  end
end
