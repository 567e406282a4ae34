-- SPDX-License-Identifier: BSL-1.0
-- Asks for this node's marker, or leaves it: "<life>/<lineage>/<since>/<placed>". Life:
-- process and data set. Lineage: drawn when the marker was placed and there was none. Since and placed: milliseconds on
-- the node's clock before which keys may be lost. Placed is for clients whose user does not answer for the node.
-- KEYS: the marker. ARGV: this life, or empty if it is not told; a lineage to use; for how many milliseconds this
-- client has been certain of the node's memory, or empty if its user answers for it; "1": the same if there is no
-- marker; the marker that this client has seen here, and when.
-- Returns "<milliseconds now> <marker>".
-- rule F6
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local marker = redis.call('get', KEYS[1])
local life, lineage, since, placed
if marker then
    life, lineage, since, placed = marker:match('^([^/]*)/([^/]+)/(%d+)/(%d+)$')
end
local seen = ARGV[5]:match('^[^/]*/([^/]+)/%d+/%d+$')
local known = life ~= nil
since, placed = tonumber(since), tonumber(placed)
if not known or (seen and seen ~= lineage and since < tonumber(ARGV[6])) then
    -- Absence proves nothing. Nor does a marker that was placed after the one that this client has seen was lost.
    lineage, placed = ARGV[2], now
    since = (not known and not seen and ARGV[4] == '1') and 0 or now
    known = false
elseif ARGV[1] ~= '' and life ~= ARGV[1] then
    -- The uncertainty of the earlier life remains.
    if ARGV[3] == '' then
        placed = now
    else
        since = math.max(since, now - ARGV[3])
        placed = math.max(placed, since)
    end
    known = false
elseif placed > now or since > now then
    known = false
end
if not known then
    -- The clock may have been set back.
    since, placed = math.min(since, now), math.min(placed, now)
    marker = string.format('%s/%s/%.0f/%.0f', ARGV[1], lineage, since, placed)
    redis.call('set', KEYS[1], marker)
end
return string.format('%.0f ', now) .. marker
