-- Shapes of inputs in one way of writing, as `8,64;64`: GPU traces have a list of lists, Ascend ones `8,64;` and `64` on lines of their
-- own. An input without a shape is empty.
shapes_text(shapes) as
    case
        when shapes like '[%' then regexp_replace(replace(regexp_replace(shapes, '\s', '', 'g'), '],[', ';'), '[\[\]]', '', 'g')
        else regexp_replace(shapes, '\s', '', 'g')
    end
