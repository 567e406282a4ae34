-- Leaves, or finds, this node's marker: which life of which data set fenced locks deal with (docs/protocol.md, rule F6).
-- KEYS: the marker, the quarantine. ARGV: this life's marker, milliseconds of a quarantine, whom to believe:
-- "any" (nothing that counts can have been lost), "absent" (where no marker stands, none ever stood), "none".
-- Milliseconds until fenced votes count here; 0: now.
local marker = redis.call('get', KEYS[1])
if marker == ARGV[1] then
    return 0
end
local waiting = ARGV[1] .. '?'
local believed = ARGV[3] == 'any' or (ARGV[3] == 'absent' and not marker)
if not believed then
    if marker ~= waiting then
        redis.call('set', KEYS[1], waiting)
        redis.call('set', KEYS[2], '', 'px', ARGV[2])
    end
    local left = redis.call('pttl', KEYS[2])
    if left > 0 then
        return left
    end
end
redis.call('set', KEYS[1], ARGV[1])
return 0
