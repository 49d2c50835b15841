
-- What is kept of the jobs of a namespace.
--   jobs      a hash, name -> the sheet: format (1), revision, when to look at it again (µs, or ''), text; a line each;
--             and '' -> the revision that it was begun with
--   due       the names by when to look at them again (µs); and '', last of all, as long as there are sheets
--   history   of each job what was noted, by its time (µs): revision, number; and in the next line the text
--   counter   the last fence, or revision

local function text(number) -- .. would round it
  return string.format('%.0f', number)
end
